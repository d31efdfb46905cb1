/// A stand-in for a type that requests carry and no parser uses, so that a fuzz target need not compile the whole
/// module.
package struct RequestObservation: Sendable {}

/// A stand-in for what sends a request in its own way.
package protocol RequestCarrier: Sendable {}

/// Stand-ins for what is sent for a request, and what middlewares add.
package struct RequestEntry: Sendable {
  package let accounts: [String]
  package init(_ accounts: [String]) { self.accounts = accounts }
}
package struct AddedCredentials: Sendable {}
