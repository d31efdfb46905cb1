/// Stands in for what requests carry and no parser looks at, so that a target need not compile the whole module.
struct RequestObservation: Sendable {}
