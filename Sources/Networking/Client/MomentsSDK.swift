/// What the SDK says of itself.
public enum MomentsSDK {
  /// The version of the SDK.
  public static let version = "0.1.0"
}
