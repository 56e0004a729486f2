// The floor: the least work that copies a topic from a broker into files.
//
// Blocking threads; each has one connection, one request at a time (Fetch version 11), one buffer
// for the response. It checks every batch's CRC and writes the bytes as they came. No index, no
// state, no retry, nothing synced. What a mirror costs more than this is the price of being one.
//
//   kmirror_floor HOST:PORT TOPIC DIR [THREADS [FETCH_BYTES]]
//
// Prints one JSON object. Sources: the Fetch, Metadata and ListOffsets schemas in proto-json/.
#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "kmirror/bytes/crc32c.h"

namespace {

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "floor: %s\n", what.c_str());
  std::exit(1);
}

// Builds one request; the length goes in front when it is sent.
class Request {
 public:
  Request(int key, int version) {
    i32(0);
    i16(key);
    i16(version);
    i32(1);
    string("floor");
  }
  void i8(int value) { data_.push_back(static_cast<char>(value)); }
  void i16(int value) {
    i8(value >> 8);
    i8(value);
  }
  void i32(std::int64_t value) {
    i16(static_cast<int>(value >> 16));
    i16(static_cast<int>(value));
  }
  void i64(std::int64_t value) {
    i32(value >> 32);
    i32(value);
  }
  void string(const std::string& text) {
    i16(static_cast<int>(text.size()));
    data_ += text;
  }
  const std::string& framed() {
    const std::uint32_t length = htobe32(static_cast<std::uint32_t>(data_.size() - 4));
    std::memcpy(data_.data(), &length, 4);
    return data_;
  }

 private:
  std::string data_;
};

// Reads one response; a response that ends too early is fatal.
class Response {
 public:
  Response(const char* data, std::size_t size) : at_(data), end_(data + size) {}
  const char* take(std::size_t count) {
    if (static_cast<std::size_t>(end_ - at_) < count) die("short response");
    const char* start = at_;
    at_ += count;
    return start;
  }
  std::int16_t i16() { return static_cast<std::int16_t>(be16toh(get<std::uint16_t>())); }
  std::int32_t i32() { return static_cast<std::int32_t>(be32toh(get<std::uint32_t>())); }
  std::int64_t i64() { return static_cast<std::int64_t>(be64toh(get<std::uint64_t>())); }
  void skip_string() {
    const int length = i16();
    if (length > 0) take(static_cast<std::size_t>(length));
  }

 private:
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  const char* at_;
  const char* end_;
};

class Connection {
 public:
  Connection(const std::string& host, int port) : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) die("bad address " + host);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      die("cannot connect to " + host + ":" + std::to_string(port));
    }
    const int one = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  ~Connection() { ::close(fd_); }

  Response call(Request& request) {
    const std::string& frame = request.framed();
    if (::send(fd_, frame.data(), frame.size(), 0) != static_cast<ssize_t>(frame.size())) {
      die("send failed");
    }
    std::uint32_t length = 0;
    receive(reinterpret_cast<char*>(&length), 4);
    length = be32toh(length);
    if (length > capacity_) {
      capacity_ = length;
      buffer_ = std::make_unique_for_overwrite<char[]>(capacity_);
    }
    receive(buffer_.get(), length);
    Response response(buffer_.get(), length);
    response.i32();
    return response;
  }

 private:
  void receive(char* to, std::size_t count) {
    while (count > 0) {
      const ssize_t got = ::recv(fd_, to, count, MSG_WAITALL);
      if (got <= 0) die("connection lost");
      to += got;
      count -= static_cast<std::size_t>(got);
    }
  }

  int fd_;
  std::size_t capacity_ = 0;
  std::unique_ptr<char[]> buffer_;
};

struct Partition {
  int index = 0;
  int file = -1;
  std::int64_t next = 0;
  std::int64_t end = 0;
  std::int64_t bytes = 0;
  std::int64_t batches = 0;
};

struct Job {
  std::string host;
  int port = 0;
  std::string topic;
  int fetch_bytes = 8 << 20;
};

int partition_count(const Job& job, Connection& connection) {
  Request request(3, 1);
  request.i32(1);
  request.string(job.topic);
  Response response = connection.call(request);
  for (int brokers = response.i32(); brokers > 0; --brokers) {
    response.i32();
    response.skip_string();
    response.i32();
    response.skip_string();
  }
  response.i32();
  if (response.i32() != 1 || response.i16() != 0) die("no topic " + job.topic);
  response.skip_string();
  response.take(1);
  return response.i32();
}

std::int64_t end_offset(const Job& job, Connection& connection, int index) {
  Request request(2, 1);
  request.i32(-1);
  request.i32(1);
  request.string(job.topic);
  request.i32(1);
  request.i32(index);
  request.i64(-1);
  Response response = connection.call(request);
  response.i32();
  response.skip_string();
  response.i32();
  response.i32();
  if (response.i16() != 0) die("ListOffsets failed");
  response.i64();
  return response.i64();
}

// Whole batches at the start of `data`: checks them and returns their size in bytes.
std::size_t check_batches(const char* data, std::size_t size, Partition& partition) {
  std::size_t place = 0;
  while (size - place >= 61) {
    Response header(data + place, 61);
    const std::int64_t base = header.i64();
    const std::size_t total = 12 + static_cast<std::size_t>(header.i32());
    if (total > size - place) break;
    header.take(5);
    const auto crc = static_cast<std::uint32_t>(header.i32());
    header.take(2);
    const std::int64_t last = base + header.i32();
    const auto* body = reinterpret_cast<const std::uint8_t*>(data + place + 21);
    if (kmirror::crc32c(kmirror::ByteSpan(body, total - 21)) != crc) die("bad CRC");
    partition.next = last + 1;
    ++partition.batches;
    place += total;
  }
  return place;
}

void fetch_request(const Job& job, const std::vector<Partition*>& wanted, Request& request) {
  request.i32(-1);
  request.i32(500);
  request.i32(1);
  request.i32(job.fetch_bytes);
  request.i8(0);
  request.i32(0);
  request.i32(-1);
  request.i32(1);
  request.string(job.topic);
  request.i32(static_cast<std::int64_t>(wanted.size()));
  for (const Partition* partition : wanted) {
    request.i32(partition->index);
    request.i32(-1);
    request.i64(partition->next);
    request.i64(-1);
    request.i32(job.fetch_bytes);
  }
  request.i32(0);
  request.string("");
}

void store(Response& response, Partition& partition) {
  if (response.i16() != 0) die("Fetch failed for a partition");
  response.i64();
  response.i64();
  response.i64();
  for (int aborted = response.i32(); aborted > 0; --aborted) response.take(16);
  response.i32();
  const std::int32_t size = response.i32();
  if (size <= 0) return;
  const char* data = response.take(static_cast<std::size_t>(size));
  const std::size_t whole = check_batches(data, static_cast<std::size_t>(size), partition);
  for (std::size_t done = 0; done < whole;) {
    const ssize_t wrote = ::write(partition.file, data + done, whole - done);
    if (wrote <= 0) die("write failed");
    done += static_cast<std::size_t>(wrote);
  }
  partition.bytes += static_cast<std::int64_t>(whole);
}

void copy(const Job& job, std::vector<Partition*> wanted) {
  Connection connection(job.host, job.port);
  while (!wanted.empty()) {
    Request request(1, 11);
    fetch_request(job, wanted, request);
    Response response = connection.call(request);
    response.i32();
    if (response.i16() != 0) die("Fetch failed");
    response.i32();
    for (int topics = response.i32(); topics > 0; --topics) {
      response.skip_string();
      for (int count = response.i32(); count > 0; --count) {
        const int index = response.i32();
        for (Partition* partition : wanted) {
          if (partition->index == index) store(response, *partition);
        }
      }
    }
    std::erase_if(wanted, [](const Partition* p) { return p->next >= p->end; });
  }
}

std::vector<Partition> open_partitions(const Job& job, const std::string& folder) {
  Connection connection(job.host, job.port);
  std::vector<Partition> partitions(static_cast<std::size_t>(partition_count(job, connection)));
  int index = 0;
  for (Partition& partition : partitions) {
    partition.index = index++;
    partition.end = end_offset(job, connection, partition.index);
    const std::string path = folder + "/" + std::to_string(partition.index) + ".log";
    partition.file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
    if (partition.file < 0) die("cannot write " + path);
  }
  return partitions;
}

// Most memory ever resident, in MiB. (What getrusage says includes the parent's before exec.)
double peak_mb() {
  std::FILE* file = std::fopen("/proc/self/status", "r");
  char line[256];
  long kb = 0;
  while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
    std::sscanf(line, "VmHWM: %ld", &kb);
  }
  if (file != nullptr) std::fclose(file);
  return static_cast<double>(kb) / 1024;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

void report(const std::vector<Partition>& partitions, double wall, int threads) {
  double bytes = 0;
  long long batches = 0;
  for (const Partition& partition : partitions) {
    bytes += static_cast<double>(partition.bytes);
    batches += partition.batches;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  std::printf(
      "{\"threads\": %d, \"bytes\": %.0f, \"batches\": %lld, \"seconds\": %.3f, \"mb_per_s\": "
      "%.1f, "
      "\"cpu_s\": %.3f, \"cpu_s_per_gb\": %.3f, \"peak_mb\": %.1f}\n",
      threads, bytes, batches, wall, bytes / 1e6 / wall, cpu, cpu / (bytes / 1e9), peak_mb());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) die("usage: kmirror_floor HOST:PORT TOPIC DIR [THREADS [FETCH_BYTES]]");
  const std::string address = argv[1];
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) die("no port in " + address);
  Job job;
  job.host = address.substr(0, colon);
  job.port = std::atoi(address.c_str() + colon + 1);
  job.topic = argv[2];
  const int threads = argc > 4 ? std::max(1, std::atoi(argv[4])) : 1;
  if (argc > 5) job.fetch_bytes = std::atoi(argv[5]);

  const auto start = std::chrono::steady_clock::now();
  std::vector<Partition> partitions = open_partitions(job, argv[3]);
  std::vector<std::thread> workers;
  for (int number = 0; number < threads; ++number) {
    std::vector<Partition*> wanted;
    for (Partition& partition : partitions) {
      if (partition.index % threads == number && partition.end > 0) wanted.push_back(&partition);
    }
    workers.emplace_back(copy, job, std::move(wanted));
  }
  for (std::thread& worker : workers) worker.join();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  report(partitions, wall.count(), threads);
  return 0;
}
