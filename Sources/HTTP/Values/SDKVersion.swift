/// The version of all modules.
package enum SDKVersion {
  package static let current = "0.1.0"
}
