"""Fetches Apache Kafka of a version by Maven into the cache, once, and makes its class path.

    python3 -m harness.kafka_dist [--long]    fetches every version that the tests name
"""

import fcntl
import os
import shutil
import subprocess
import sys

from harness import paths

MAIN = "4.4.0"      # brokers and the Java client of most tests
OLD = "2.8.2"       # ZooKeeper, no topic ids on the wire before Fetch 13
LONG = ("4.3.1", "3.9.1", "2.1.1")
_DEPENDENCY_PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
# The brokers' own log bindings are old; one that runs on Java 17 takes their place.
_EXCLUDED = ("log4j:log4j", "org.slf4j:slf4j-log4j12", "ch.qos.logback:logback-classic",
             "org.slf4j:slf4j-reload4j")


def version_key(version):
    """(major, minor) as numbers."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def _artifacts(version, with_mirror_maker):
    key = version_key(version)
    scala = "2.13" if key >= (2, 4) else "2.12"
    wanted = [("org.apache.kafka", f"kafka_{scala}", version),
              ("org.apache.kafka", "kafka-tools", version)]
    if with_mirror_maker:
        wanted += [("org.apache.kafka", "connect-runtime", version),
                   ("org.apache.kafka", "connect-mirror", version)]
    if key < (2, 6):
        # Older ZooKeeper clients cannot resolve addresses on Java 14 and newer.
        wanted.append(("org.apache.zookeeper", "zookeeper", "3.5.10"))
    if key >= (4, 0):
        wanted += [("org.apache.logging.log4j", name, "2.24.3") for name in
                   ("log4j-slf4j-impl", "log4j-core", "log4j-api", "log4j-1.2-api")]
    else:
        wanted.append(("ch.qos.reload4j", "reload4j", "1.2.25"))
        wanted.append(("org.slf4j", "slf4j-reload4j", "1.7.36"))
    return wanted


def _pom(version, with_mirror_maker):
    text = ['<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>',
            "<groupId>kmirror</groupId><artifactId>kafka</artifactId><version>1</version>",
            "<packaging>pom</packaging><dependencies>"]
    for group, artifact, number in _artifacts(version, with_mirror_maker):
        text.append(f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
                    f"<version>{number}</version><exclusions>")
        for name in _EXCLUDED:
            if f"{group}:{artifact}" != name:
                other_group, other = name.split(":")
                text.append(f"<exclusion><groupId>{other_group}</groupId>"
                            f"<artifactId>{other}</artifactId></exclusion>")
        text.append("</exclusions></dependency>")
    return "\n".join(text + ["</dependencies></project>\n"])


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _write_log_config(folder):
    pattern = "[%d] %p %m (%c)%n"
    _write(os.path.join(folder, "log4j2.properties"),
           "status = error\nappender.c.type = Console\nappender.c.name = C\n"
           "appender.c.target = SYSTEM_ERR\nappender.c.layout.type = PatternLayout\n"
           f"appender.c.layout.pattern = {pattern}\nrootLogger.level = ${{sys:level}}\n"
           "rootLogger.appenderRef.c.ref = C\n")
    _write(os.path.join(folder, "log4j.properties"),
           "log4j.rootLogger=${level}, C\nlog4j.appender.C=org.apache.log4j.ConsoleAppender\n"
           "log4j.appender.C.target=System.err\nlog4j.appender.C.layout=org.apache.log4j.PatternLayout\n"
           f"log4j.appender.C.layout.ConversionPattern={pattern}\n")


def fetch(version, with_mirror_maker=False):
    """Folder with `lib/*.jar` of the version; fetched if it is not there yet.

    Several processes may call it at once; the cache is locked per version. Raises RuntimeError with
    Maven's last words when the registry cannot be reached.
    """
    name = version + ("-mirror-maker" if with_mirror_maker else "")
    folder = os.path.join(paths.CACHE, "kafka", name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(os.path.join(folder, "complete")):
            return folder
        print(f"fetching Apache Kafka {name} by Maven", file=sys.stderr, flush=True)
        fresh = os.path.join(folder, "lib.new")
        shutil.rmtree(fresh, ignore_errors=True)
        _write(os.path.join(folder, "pom.xml"), _pom(version, with_mirror_maker))
        run = subprocess.run(
            ["mvn", "-q", "-B", "-f", os.path.join(folder, "pom.xml"), _DEPENDENCY_PLUGIN,
             "-DincludeScope=runtime", f"-DoutputDirectory={fresh}"],
            capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if run.returncode != 0:
            raise RuntimeError(f"Maven could not fetch Kafka {version}:\n{(run.stdout + run.stderr)[-2000:]}")
        shutil.rmtree(os.path.join(folder, "lib"), ignore_errors=True)
        os.rename(fresh, os.path.join(folder, "lib"))
        _write_log_config(folder)
        _write(os.path.join(folder, "complete"), name + "\n")
    return folder


# A JVM that starts soon, for tests; and one that runs fast once it is warm, for measurements.
QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
FAST = ("-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20")


def java(version, *arguments, heap="256m", level="WARN", options=QUICK, with_mirror_maker=False):
    """Command line that runs a class of that version: java(version, "kafka.Kafka", "file")."""
    folder = fetch(version, with_mirror_maker)
    config = (f"-Dlog4j2.configurationFile={folder}/log4j2.properties" if version_key(version) >= (4, 0)
              else f"-Dlog4j.configuration=file:{folder}/log4j.properties")
    return ["java", f"-Xms{heap}", f"-Xmx{heap}", "-Xshare:auto", "-Djava.net.preferIPv4Stack=true", "-Djava.awt.headless=true",
            "-Dzookeeper.jmx.log4j.disable=true", f"-Dlevel={level}", config, *options,
            "-cp", f"{folder}/lib/*", *arguments]


def main(arguments):
    """Fetches what the tests need."""
    for version in (MAIN, OLD) + (LONG if "--long" in arguments else ()):
        fetch(version)


if __name__ == "__main__":
    main(sys.argv[1:])
