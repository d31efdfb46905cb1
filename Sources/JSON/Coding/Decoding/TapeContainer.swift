/// A container that a decoder makes.
protocol TapeContainer<Key>: KeyedDecodingContainerProtocol {
  init(_ decoder: TapeDecoder)
}
