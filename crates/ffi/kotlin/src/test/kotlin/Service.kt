import java.nio.file.Files
import java.nio.file.Path
import java.util.concurrent.TimeUnit

/** A service of `papir serve` on this machine, with the words of a small table. */
class Service(folder: Path, scheme: String = "inspire") : AutoCloseable {
    private val process: Process
    val url: String

    init {
        val words = folder.resolve("words.csv")
        Files.writeString(words, "word,meaning\napple,a fruit\nfern,a plant\n")
        val database = folder.resolve("words.papir").toString()
        val build = start(
            "build", words.toString(), "--key", "word", "--value", "meaning", "--scheme", scheme, "--out", database,
        )
        check(build.waitFor() == 0) { "papir build failed" }
        val registry = folder.resolve("registry").toString()
        process = start("serve", database, "--listen", "127.0.0.1:0", "--registry", registry)
        val lines = process.inputStream.bufferedReader()
        url = generateSequence { lines.readLine() }.firstNotNullOf { ADDRESS.find(it)?.value }
    }

    private fun start(vararg arguments: String): Process {
        val program = System.getenv("PAPIR") ?: error("PAPIR is not set: expected the path of the program")
        return ProcessBuilder(program, *arguments).redirectErrorStream(true).start()
    }

    override fun close() {
        process.destroy()
        if (!process.waitFor(20, TimeUnit.SECONDS)) process.destroyForcibly()
    }

    private companion object {
        val ADDRESS = Regex("""http://127\.0\.0\.1:\d+""")
    }
}
