/// The part of Foundation that the SDK is built on, and the C library, on any system.
///
/// A module imports this in place of Foundation: as soon as one module of a program imports that, `-static-stdlib` links
/// all of it, with ICU's tables, which is 50 MB. `FoundationEssentials` has the same types: its `Data`, `Date` and `URL`
/// are Foundation's. Where there is none, as on Apple's systems, it is Foundation itself.

#if canImport(FoundationEssentials)
  @_exported public import FoundationEssentials
#else
  @_exported public import Foundation
#endif

#if canImport(Glibc)
  @_exported public import Glibc
#elseif canImport(Musl)
  @_exported public import Musl
#else
  @_exported public import Darwin
#endif
