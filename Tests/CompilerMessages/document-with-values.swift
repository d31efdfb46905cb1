// A document with a value in it, or of a text that is made when the program runs.
// message: a document is a literal: pass values as variables, and join fragments by +
// message: a document is a literal, so that no input gets into it: pass values as variables

import GraphQLClient

func documents(_ id: String, _ text: String) -> [GraphQLDocument] {
  #if CORRECT
    ["query getUser($id: ID!) { user(id: $id) { name } }"]
  #else
    ["query getUser { user(id: \(id)) { name } }", GraphQLDocument(text)]
  #endif
}
