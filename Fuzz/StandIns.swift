/// A stand-in for a type that requests carry and no parser uses, so that a fuzz target need not compile the whole
/// module.
package struct RequestObservation: Sendable {}
