//! What a file name tells about its content.

/// Names that promise text, so that bytes which are not UTF-8 are taken as Latin-1 and not as a sign of a binary file.
const TEXT: &[&str] = &[
    "asm",
    "bash",
    "bat",
    "c",
    "cc",
    "cfg",
    "clj",
    "cmake",
    "cmd",
    "conf",
    "cpp",
    "cs",
    "css",
    "csv",
    "cxx",
    "dart",
    "diff",
    "env",
    "ex",
    "exs",
    "f90",
    "fish",
    "go",
    "gradle",
    "graphql",
    "h",
    "hpp",
    "hs",
    "htm",
    "html",
    "ini",
    "ipynb",
    "java",
    "jl",
    "js",
    "json",
    "jsonl",
    "jsx",
    "kt",
    "less",
    "lisp",
    "log",
    "lua",
    "m",
    "markdown",
    "md",
    "mjs",
    "ml",
    "nfo",
    "nim",
    "org",
    "patch",
    "php",
    "pl",
    "pm",
    "po",
    "properties",
    "proto",
    "ps1",
    "py",
    "pyi",
    "r",
    "rb",
    "rs",
    "rst",
    "sass",
    "scala",
    "scss",
    "sh",
    "sql",
    "srt",
    "svg",
    "swift",
    "tcl",
    "tex",
    "text",
    "toml",
    "ts",
    "tsv",
    "tsx",
    "txt",
    "vb",
    "vim",
    "vue",
    "xml",
    "yaml",
    "yml",
    "zig",
    "zsh",
];

const IMAGES: &[&str] = &["avif", "bmp", "gif", "heic", "ico", "jpeg", "jpg", "png", "tif", "tiff", "webp"];

const OFFICE: &[&str] = &["doc", "docx", "odp", "ods", "odt", "ppt", "pptx", "rtf", "xls", "xlsx"];

/// What a file of this name holds, when that cannot be read yet.
pub(crate) fn not_readable_yet(name: &str) -> Option<&'static str> {
    let extension = extension(name)?;
    let is_in = |list: &[&str]| list.contains(&extension.as_str());
    match () {
        () if is_in(IMAGES) => Some("images"),
        () if extension == "pdf" => Some("PDF files"),
        () if is_in(OFFICE) => Some("office documents"),
        () => None,
    }
}

/// Whether the name promises text.
pub(crate) fn is_text_name(name: &str) -> bool {
    extension(name).is_some_and(|extension| TEXT.contains(&extension.as_str()))
}

fn extension(name: &str) -> Option<String> {
    let (_, extension) = name.rsplit_once('.')?;
    Some(extension.to_ascii_lowercase())
}
