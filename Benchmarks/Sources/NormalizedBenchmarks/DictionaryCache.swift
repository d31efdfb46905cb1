import Foundation

/// A cache of dictionaries, as Apollo's is built: records by key, fields by name with their arguments, values of any type,
/// and watchers that compare the names of what has changed with the names of what they have read.
///
/// It does less than Apollo's (no plan, fragments or conditions; the response says what was selected), so that it is no
/// slower for want of care.
struct DictionaryCache {
  struct Reference: Hashable { let key: String }
  typealias Record = [String: AnyHashable]

  private var records: [String: Record] = [:]

  /// Writes a response, and returns the names of the fields that it has changed.
  mutating func write(_ body: Data, field: String) throws -> Set<String> {
    guard let response = try JSONSerialization.jsonObject(with: body) as? [String: Any],
      let data = response["data"] as? [String: Any], let value = data["feed"]
    else { throw URLError(.cannotParseResponse) }
    var changed = Set<String>()
    merge([field: normalize(value, &changed)], into: "QUERY_ROOT", &changed)
    return changed
  }

  private mutating func normalize(_ value: Any, _ changed: inout Set<String>) -> AnyHashable {
    switch value {
    case let list as [Any]: return list.map { normalize($0, &changed) } as [AnyHashable]
    case let object as [String: Any]:
      var record: Record = [:]
      for (name, value) in object { record[name] = normalize(value, &changed) }
      guard let id = object["id"] as? String, let type = object["__typename"] as? String else { return record }
      merge(record, into: "\(type):\(id)", &changed)
      return Reference(key: "\(type):\(id)")
    case let value as AnyHashable: return value
    default: return NSNull()
    }
  }

  private mutating func merge(_ record: Record, into key: String, _ changed: inout Set<String>) {
    var known = records[key] ?? [:]
    for (name, value) in record where known[name] != value {
      known[name] = value
      changed.insert("\(key).\(name)")
    }
    records[key] = known
  }

  /// Reads what a response had, and the names of the fields that it is made of.
  func read(field: String) -> (value: Any, names: Set<String>) {
    var names: Set<String> = ["QUERY_ROOT.\(field)"]
    return (["feed": denormalize(records["QUERY_ROOT"]?[field] ?? AnyHashable(NSNull()), &names)], names)
  }

  private func denormalize(_ value: AnyHashable, _ names: inout Set<String>) -> Any {
    switch value.base {
    case let list as [AnyHashable]: return list.map { denormalize($0, &names) }
    case let reference as Reference:
      var object: [String: Any] = [:]
      for (name, value) in records[reference.key] ?? [:] {
        names.insert("\(reference.key).\(name)")
        object[name] = denormalize(value, &names)
      }
      return object
    case let record as Record: return record.mapValues { denormalize($0, &names) }
    default: return value.base
    }
  }

  /// Changes one field, and returns how many of the watchers' sets of names have it.
  mutating func set(_ name: String, to value: AnyHashable, of key: String, watchers: [Set<String>]) -> Int {
    var changed = Set<String>()
    merge([name: value], into: key, &changed)
    return watchers.count { !$0.isDisjoint(with: changed) }
  }
}
