import GraphQLSchema

/// How the input objects of a schema hold one another: found once for all of them, in time that grows with the schema.
struct InputGraph {
  /// The types that are files, and the input objects that can have one in them.
  private(set) var uploads: Set<String> = []
  /// For each input object one of those that it can hold, not in lists, and that can hold it: the same one for all of them.
  private var circles: [String: String] = [:]

  init(_ schema: Schema, isUpload: (NamedType) -> Bool) {
    let objects = schema.types.filter { $0.kind == .inputObject }
    var users: [String: [String]] = [:]
    var holders: [String: [String]] = [:]
    var held: [String: [String]] = [:]
    for object in objects {
      for field in object.inputFields {
        let name = field.type.named.name
        users[name, default: []].append(object.name)
        if field.type.named.kind != .inputObject || field.type.isList { continue }
        holders[name, default: []].append(object.name)
        held[object.name, default: []].append(name)
      }
    }
    for type in schema.types where type.kind == .scalar && isUpload(type) {
      for name in Self.reached(from: type.name, users, except: uploads) { uploads.insert(name) }
    }
    // Kosaraju's algorithm: whatever holds the last of the order, and is not in a circle yet, is in one with it.
    var found: Set<String> = []
    var order: [String] = []
    for object in objects {
      let names = Self.reached(from: object.name, held, except: found)
      found.formUnion(names)
      order += names
    }
    var done: Set<String> = []
    for name in order.reversed() {
      for member in Self.reached(from: name, holders, except: done) {
        circles[member] = name
        done.insert(member)
      }
    }
  }

  /// Whether a field of an input object can hold that object, not in a list.
  func isCircular(_ field: InputValue, of object: NamedType) -> Bool {
    !field.type.isList && circles[field.type.named.name] == circles[object.name]
  }

  /// What is reached from a name by edges, itself included: each after what is reached through it.
  private static func reached(
    from start: String, _ edges: [String: [String]], except known: Set<String>
  ) -> [String] {
    if known.contains(start) { return [] }
    var seen: Set<String> = [start]
    var result: [String] = []
    var path = [(name: start, rest: (edges[start] ?? [])[...])]
    while let last = path.indices.last {
      guard let next = path[last].rest.popFirst() else {
        result.append(path.removeLast().name)
        continue
      }
      guard !known.contains(next), seen.insert(next).inserted else { continue }
      path.append((next, (edges[next] ?? [])[...]))
    }
    return result
  }
}
