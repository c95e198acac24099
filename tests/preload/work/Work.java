// SPDX-License-Identifier: MIT
// Work for java: threads, direct buffers (malloc'ed by the virtual machine), native zlib, maps, garbage collection.
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

public class Work {
    interface Shape {
        long weight();
    }

    record Box(int side, String name) implements Shape {
        public long weight() {
            return (long) side * name.length();
        }
    }

    record Pair(Shape left, Shape right) implements Shape {
        public long weight() {
            return left.weight() + 2 * right.weight();
        }
    }

    static Shape grow(int depth, int seed) {
        return depth == 0 ? new Box(seed, "box" + seed) : new Pair(grow(depth - 1, seed * 3 % 1009), grow(depth - 1, seed + 1));
    }

    static String digest(byte[] data) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(data), 0, 8);
    }

    static long direct(int seed) {
        Random random = new Random(seed);
        ArrayDeque<ByteBuffer> live = new ArrayDeque<>();
        CRC32 crc = new CRC32();
        for (int i = 0; i < 1500; i++) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(1 + random.nextInt(i % 40 == 0 ? 300000 : 5000));
            while (buffer.remaining() >= 4) {
                buffer.putInt(random.nextInt());
            }
            live.add(buffer.flip());
            if (live.size() > 60) {
                crc.update(live.poll());
            }
        }
        return crc.getValue();
    }

    static String packed(int seed) throws Exception {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 20000; i++) {
            text.append("word").append((i * seed) % 977).append(' ');
        }
        byte[] data = text.toString().getBytes(StandardCharsets.UTF_8);
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int round = 0; round < 8; round++) {
            Deflater deflater = new Deflater(1 + round);
            deflater.setInput(data);
            deflater.finish();
            byte[] block = new byte[4096];
            out.reset();
            while (!deflater.finished()) {
                out.write(block, 0, deflater.deflate(block));
            }
            deflater.end();
        }
        Inflater inflater = new Inflater();
        inflater.setInput(out.toByteArray());
        byte[] back = new byte[data.length];
        int length = inflater.inflate(back);
        inflater.end();
        return length + " " + digest(back);
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("tree " + grow(15, 7).weight());
        TreeMap<String, List<Integer>> index = new TreeMap<>();
        for (int i = 0; i < 100000; i++) {
            index.computeIfAbsent(Integer.toHexString((i * 7919) % 50021), key -> new ArrayList<>()).add(i);
        }
        System.out.println("map " + index.size() + " " + digest(index.toString().getBytes(StandardCharsets.UTF_8)));

        var pool = Executors.newFixedThreadPool(6);
        List<Future<String>> answers = new ArrayList<>();
        for (int i = 1; i <= 6; i++) {
            final int seed = i;
            Callable<String> both = () -> direct(seed) + " " + packed(seed);
            answers.add(pool.submit(both));
        }
        for (Future<String> answer : answers) {
            System.out.println("thread " + answer.get());
        }
        pool.shutdown();

        ConcurrentHashMap<Integer, Long> shared = new ConcurrentHashMap<>();
        for (int round = 0; round < 20; round++) {
            Thread[] threads = new Thread[12];
            for (int i = 0; i < threads.length; i++) {
                final int number = i;
                threads[i] = new Thread(() -> shared.merge(number, (long) new byte[10000 + number].length, Long::sum));
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        System.out.println("short threads " + new TreeMap<>(shared));

        var word = Pattern.compile("(\\w+?)(\\d+)");
        long matches = IntStream.range(0, 20000).parallel().mapToObj(i -> "word" + i + " and " + i * 31)
            .mapToLong(line -> word.matcher(line).results().mapToLong(found -> found.group(2).length()).sum()).sum();
        System.out.println("matches " + matches);

        Process child = new ProcessBuilder("sort", "-n").start();
        try (var in = child.getOutputStream()) {
            for (int i = 0; i < 5000; i++) {
                in.write(((i * 7919 % 5003) + "\n").getBytes());
            }
        }
        System.out.println("child " + digest(child.getInputStream().readAllBytes()) + " " + child.waitFor());
        System.gc();
        System.out.println("end " + digest(new byte[1 << 20]));
    }
}
