// A nullable variable that is nil, or an optional.
// message: nil does not say whether the variable is absent or null: write .absent or .null
// message: cannot convert value of type 'String?' to expected argument type 'GraphQLNullable<String>'

import GraphQLClient

struct Variables: Encodable, Sendable { let title: GraphQLNullable<String> }

func variables(title: String?) {
  #if CORRECT
    let (deleted, given) = (Variables(title: .null), Variables(title: title ?? .absent))
  #else
    let deleted = Variables(title: nil)
    let given = Variables(title: title)
  #endif
  print(deleted, given)
}
