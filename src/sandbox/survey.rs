//! What a component says of itself, read from its bytes before anything is compiled.

use super::digest::Digest;
use super::error::LoadError;
use wasmparser::{ComponentExternalKind, Encoding, Parser, Payload};

/// Bytes of a component, at most.
pub const MAX_COMPONENT: usize = 64 << 20;

/// Bytes of one function's code, at most: compile time grows faster than linearly in it.
const MAX_FUNCTION: u32 = 2 << 20;

/// Functions of one component, at most.
const MAX_FUNCTIONS: u32 = 250_000;

/// Characters of a name that are shown.
const SHOWN: usize = 200;

/// The interface that makes a component a tool.
pub const TOOL_INTERFACE: &str = "ringfence:tool/tool@0.1.0";

/// One import or export: `package/interface@version`, or a bare name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extern {
    /// `package/interface`, or the bare name.
    pub name: String,
    /// The version after `@`, where there is one.
    pub version: Option<String>,
}

impl Extern {
    fn parse(text: &str) -> Self {
        match text.rsplit_once('@') {
            Some((name, version)) => Self { name: name.to_owned(), version: Some(version.to_owned()) },
            None => Self { name: text.to_owned(), version: None },
        }
    }
}

/// As a part of one line, and no longer than such a name is: it is whatever a component says.
impl std::fmt::Display for Extern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown =
            |text: &str| -> String { text.chars().take(SHOWN).flat_map(char::escape_debug).collect() };
        f.write_str(&shown(&self.name))?;
        self.version.as_ref().map_or(Ok(()), |version| write!(f, "@{}", shown(version)))
    }
}

/// What a component says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// Its digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: usize,
    /// What it imports, in the order of the file.
    pub imports: Vec<Extern>,
    /// What it exports.
    pub exports: Vec<Extern>,
}

impl Survey {
    /// Reads a component. Nothing is compiled and nothing is run.
    ///
    /// # Errors
    ///
    /// When it is too large, not a component, or not a tool.
    pub fn of(bytes: &[u8]) -> Result<Self, LoadError> {
        if bytes.len() > MAX_COMPONENT {
            return Err(LoadError::TooLarge { size: bytes.len(), most: MAX_COMPONENT });
        }
        if !bytes.starts_with(b"\0asm") {
            return Err(LoadError::NotAComponent("it does not begin as WebAssembly does".to_owned()));
        }
        let digest = Digest::of(bytes);
        let mut survey = Self { digest, size: bytes.len(), imports: Vec::new(), exports: Vec::new() };
        // Its first line says what is wrong; what may follow is a dump of the bytes.
        let malformed = |error: wasmparser::BinaryReaderError| {
            LoadError::NotAComponent(error.message().lines().next().unwrap_or_default().to_owned())
        };
        let mut parser = Parser::new(0);
        let mut rest = bytes;
        let mut outer = Vec::new();
        let mut functions = 0u32;
        loop {
            let chunk = parser.parse(rest, true).map_err(malformed)?;
            let wasmparser::Chunk::Parsed { consumed, payload } = chunk else {
                return Err(LoadError::NotAComponent("it ends too early".to_owned()));
            };
            rest = rest.get(consumed..).unwrap_or_default();
            match payload {
                Payload::Version { encoding, .. } if outer.is_empty() && encoding == Encoding::Module => {
                    let text = "it is a core module; build it for wasm32-wasip2, or wrap it as a component";
                    return Err(LoadError::NotAComponent(text.to_owned()));
                }
                Payload::ModuleSection { parser: inner, .. }
                | Payload::ComponentSection { parser: inner, .. } => {
                    outer.push(std::mem::replace(&mut parser, inner));
                }
                Payload::ComponentImportSection(section) if outer.is_empty() => {
                    for import in section {
                        survey.imports.push(Extern::parse(import.map_err(malformed)?.name.name));
                    }
                }
                Payload::ComponentExportSection(section) if outer.is_empty() => {
                    for export in section {
                        let export = export.map_err(malformed)?;
                        if export.kind == ComponentExternalKind::Instance {
                            survey.exports.push(Extern::parse(export.name.name));
                        }
                    }
                }
                Payload::CodeSectionStart { count, .. } => {
                    functions = functions.saturating_add(count);
                    if functions > MAX_FUNCTIONS {
                        return Err(LoadError::Costly(format!("it has more than {MAX_FUNCTIONS} functions")));
                    }
                }
                Payload::CodeSectionEntry(body) if body.range().len() > MAX_FUNCTION as usize => {
                    let text = format!("one of its functions has more than {MAX_FUNCTION} bytes of code");
                    return Err(LoadError::Costly(text));
                }
                Payload::End(_) => match outer.pop() {
                    Some(around) => parser = around,
                    None => break,
                },
                _ => {}
            }
        }
        survey.check_tool()?;
        Ok(survey)
    }

    fn check_tool(&self) -> Result<(), LoadError> {
        if self.exports.iter().any(|e| e.to_string() == TOOL_INTERFACE) {
            return Ok(());
        }
        let tool = Extern::parse(TOOL_INTERFACE).name;
        let found = match self.exports.iter().find(|e| e.name == tool) {
            Some(other) => format!(" (it has {other}, which this host does not)"),
            None => String::new(),
        };
        Err(LoadError::NotATool { expected: TOOL_INTERFACE, found })
    }
}
