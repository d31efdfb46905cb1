/// A stand-in for a type that requests carry and no parser uses, so that a fuzz target need not compile the whole
/// module.
package struct RequestObservation: Sendable {}

/// The same for what sends a request in its own way.
package protocol RequestCarrier: Sendable {}
