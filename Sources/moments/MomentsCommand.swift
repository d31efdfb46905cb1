@main
struct MomentsCommand {
  static func main() {
    print("moments")
  }
}
