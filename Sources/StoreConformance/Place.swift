import Repository

/// Where the partitions of a source of truth are, to open them anew.
struct Place: Sendable {
  let open: @Sendable (_ partition: String) throws -> StoreConformance.Subject

  func reopened(_ partition: String = "a") throws -> StoreConformance.Subject { try open(partition) }
}
