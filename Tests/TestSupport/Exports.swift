// What tests wait on, and most servers that they talk to, is the conformance kit's as well.
@_exported public import LoopbackServers
