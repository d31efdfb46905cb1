public import JSON

extension JSONCoder: BodyDecoder, BodyEncoder {}
