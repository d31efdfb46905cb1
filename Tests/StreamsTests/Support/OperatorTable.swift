import Streams

extension Operator {
  /// Every operator of the surface. One that is missing here fails ``SurfaceTests``.
  static let all: [Operator] = [
    Operator("map", [.hooked]) { source, hook in
      source.map {
        try hook($0)
        return $0
      }
    },
    Operator("compactMap", [.hooked]) { source, hook in
      source.compactMap {
        try hook($0)
        return $0
      }
    },
    Operator("filter", [.hooked]) { source, hook in
      source.filter {
        try hook($0)
        return true
      }
    },
    Operator("flatMap", [.hooked]) { source, hook in
      source.flatMap {
        try hook($0)
        return .just($0)
      }
    },
    Operator("do", [.hooked]) { source, hook in source.do(onNext: { try hook($0) }) },
    Operator("take") { source, _ in source.take(.max) },
    Operator("catch") { source, _ in source.catch { throw $0 } },
    Operator("catchAndReturn", [.handlesErrors]) { source, _ in source.catchAndReturn(-1) },
  ]

  static let hooked = all.filter { $0.has(.hooked) }
  static let lossless = all.filter { !$0.has(.thins) }
}
