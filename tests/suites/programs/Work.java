// 50 threads, a stack overflow that is caught, a child process, compressed data.
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.zip.CRC32;
import java.util.zip.GZIPOutputStream;

public class Work {
  static int depth(int n) { return n < 0 ? 0 : 1 + depth(n + 1); }

  static long chew(int seed) throws Exception {
    TreeMap<String, byte[]> map = new TreeMap<>();
    for (int i = 0; i < 400; i++) map.put("key" + (i * 7919 + seed) % 1009, new byte[i]);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (GZIPOutputStream zip = new GZIPOutputStream(out)) {
      for (String key : map.keySet()) zip.write(key.getBytes());
    }
    CRC32 crc = new CRC32();
    crc.update(out.toByteArray(), 10, out.size() - 10);
    return crc.getValue();
  }

  public static void main(String[] args) throws Exception {
    long[] results = new long[50];
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < results.length; i++) {
      final int number = i;
      Thread thread = new Thread(() -> {
        try {
          for (int round = 0; round < 20; round++) results[number] += chew(number + round);
          try {
            depth(0);
          } catch (StackOverflowError e) {
            results[number]++;
          }
        } catch (Exception e) {
          results[number] = -1;
        }
      });
      threads.add(thread);
      thread.start();
    }
    long sum = 0;
    for (Thread thread : threads) thread.join();
    for (long result : results) sum += result;
    System.out.println("threads " + sum);
    try {
      depth(0);
    } catch (StackOverflowError e) {
      System.out.println("overflow caught");
    }
    Process child = new ProcessBuilder("sh", "-c", "echo child; exit 7").inheritIO().start();
    System.out.println("child ended with " + child.waitFor());
    System.exit(3);
  }
}
