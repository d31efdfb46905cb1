/// The cause of an `invalidRequest` that lies in the session itself, as with a value that cannot be encoded or a path that
/// is none: with other settings it would end the same.
package struct UnsendableSession: Error {}
