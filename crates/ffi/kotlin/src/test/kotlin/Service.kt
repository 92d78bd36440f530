import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.TimeUnit

/** A program that listens on this machine until it is closed. */
open class Listening(vararg arguments: String) : AutoCloseable {
    private val process = start(*arguments)
    val url: String

    init {
        val lines = process.inputStream.bufferedReader()
        url = generateSequence { lines.readLine() }.firstNotNullOf { ADDRESS.find(it)?.value }
    }

    override fun close() {
        process.destroy()
        if (!process.waitFor(20, TimeUnit.SECONDS)) process.destroyForcibly()
    }

    private companion object {
        val ADDRESS = Regex("""http://127\.0\.0\.1:\d+""")
    }
}

/** A service of `papir serve` with the words of a small table, which relays reach, too. */
class Service(folder: Path, scheme: String = "inspire") : Listening(
    "serve", words(folder, scheme), "--listen", "127.0.0.1:0",
    "--registry", folder.resolve("registry").toString(), "--ohttp", folder.resolve("ohttp.toml").toString(),
)

/** A relay of `papir relay` before a service. */
class Relay(service: Service) : Listening("relay", "--listen", "127.0.0.1:0", "--to", service.url)

/** Builds a database of two words, and returns its path. */
private fun words(folder: Path, scheme: String): String {
    val words = folder.resolve("words.csv")
    Files.writeString(words, "word,meaning\napple,a fruit\nfern,a plant\n")
    val database = folder.resolve("words.papir").toString()
    val build = start(
        "build", words.toString(), "--key", "word", "--value", "meaning", "--scheme", scheme, "--out", database,
    )
    check(build.waitFor() == 0) { "papir build failed" }
    return database
}

private fun start(vararg arguments: String): Process {
    val program = System.getenv("PAPIR") ?: error("PAPIR is not set: expected the path of the program")
    return ProcessBuilder(program, *arguments).redirectErrorStream(true).start()
}
