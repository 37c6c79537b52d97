package app;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Keeps direct buffers, in methods that are compiled after a while. */
public class Leak {
  static final List<ByteBuffer> kept = new ArrayList<>();

  static void remember(int size) {
    kept.add(ByteBuffer.allocateDirect(size));
  }

  static void serve(int rounds) {
    for (int i = 0; i < rounds; i++) remember(1024);
  }

  public static void main(String[] arguments) {
    for (int i = 0; i < 200; i++) serve(100);
    System.out.println(kept.size());
  }
}
