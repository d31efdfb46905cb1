// Prints the GraphQL documents in files, whole and cut off after each of several lengths, by the parser in Swift.

#include <stdint.h>
#include <stdio.h>

void print_document(const uint8_t *bytes, long count);

void write_bytes(const uint8_t *bytes, long count) { fwrite(bytes, 1, count, stdout); }

int main(int count, char **paths) {
  static uint8_t bytes[4 << 20];
  for (int place = 1; place < count; place++) {
    FILE *file = fopen(paths[place], "rb");
    if (!file) return 66;
    long size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (int part = 1; part <= 16; part++) {
      print_document(bytes, size * part / 16);
      printf("\n");
    }
  }
  return 0;
}
