//! WASI: the leftovers of language runtimes, linked with nothing behind them, and files behind the fence.

use super::fence::Fenced;
use super::limits::LimitKind;
use super::state::RoleState;
use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi::WasiView as _;
use wasmtime_wasi::cli::{WasiCli, WasiCliView as _};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView as _};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, io, random, sockets};
use wasmtime_wasi::random::WasiRandomCtx;
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView as _};

struct Io;

impl HasData for Io {
    type Data<'a> = &'a mut ResourceTable;
}

/// Links what a language runtime may import whatever its tool does. None of it reaches anything outside the instance but
/// the clock and random numbers; sockets refuse every address.
pub(super) fn link_leftovers<S: RoleState>(l: &mut Linker<S>) -> wasmtime::Result<()> {
    io::error::add_to_linker::<S, Io>(l, |s| s.shared().ctx().table)?;
    io::poll::add_to_linker::<S, Io>(l, |s| s.shared().ctx().table)?;
    io::streams::add_to_linker::<S, Io>(l, |s| s.shared().ctx().table)?;
    clocks::wall_clock::add_to_linker::<S, WasiClocks>(l, |s| s.shared().clocks())?;
    clocks::monotonic_clock::add_to_linker::<S, WasiClocks>(l, |s| s.shared().clocks())?;
    random::random::add_to_linker::<S, Dices>(l, |s| s.shared().dice())?;
    random::insecure::add_to_linker::<S, Dices>(l, |s| s.shared().dice())?;
    random::insecure_seed::add_to_linker::<S, Dices>(l, |s| s.shared().dice())?;
    cli::exit::add_to_linker::<S, WasiCli>(l, |s| s.shared().cli())?;
    cli::environment::add_to_linker::<S, WasiCli>(l, |s| s.shared().cli())?;
    cli::stdin::add_to_linker::<S, WasiCli>(l, |s| s.shared().cli())?;
    cli::stdout::add_to_linker::<S, WasiCli>(l, |s| s.shared().cli())?;
    cli::stderr::add_to_linker::<S, WasiCli>(l, |s| s.shared().cli())?;
    cli::terminal_input::add_to_linker::<S, WasiCli>(l, |s| s.shared().cli())?;
    cli::terminal_output::add_to_linker::<S, WasiCli>(l, |s| s.shared().cli())?;
    cli::terminal_stdin::add_to_linker::<S, WasiCli>(l, |s| s.shared().cli())?;
    cli::terminal_stdout::add_to_linker::<S, WasiCli>(l, |s| s.shared().cli())?;
    cli::terminal_stderr::add_to_linker::<S, WasiCli>(l, |s| s.shared().cli())?;
    let network = sockets::network::LinkOptions::default();
    sockets::network::add_to_linker::<S, WasiSockets>(l, &network, |s| s.shared().sockets())?;
    sockets::instance_network::add_to_linker::<S, WasiSockets>(l, |s| s.shared().sockets())?;
    sockets::ip_name_lookup::add_to_linker::<S, WasiSockets>(l, |s| s.shared().sockets())?;
    sockets::tcp::add_to_linker::<S, WasiSockets>(l, |s| s.shared().sockets())?;
    sockets::tcp_create_socket::add_to_linker::<S, WasiSockets>(l, |s| s.shared().sockets())?;
    sockets::udp::add_to_linker::<S, WasiSockets>(l, |s| s.shared().sockets())?;
    sockets::udp_create_socket::add_to_linker::<S, WasiSockets>(l, |s| s.shared().sockets())
}

/// Links files, behind the fence.
pub(super) fn link_files<S: RoleState>(l: &mut Linker<S>) -> wasmtime::Result<()> {
    filesystem::types::add_to_linker::<S, Fenced>(l, |s| s.shared().fence())?;
    filesystem::preopens::add_to_linker::<S, Fenced>(l, |s| s.shared().fence())
}

/// Random numbers, at most so many bytes at once, with an error of its own kind beyond.
pub(super) struct Dice<'a> {
    pub(super) inner: &'a mut WasiRandomCtx,
    pub(super) most: u64,
}

struct Dices;

impl HasData for Dices {
    type Data<'a> = Dice<'a>;
}

impl Dice<'_> {
    fn check(&self, length: u64) -> wasmtime::Result<()> {
        if length > self.most { Err(LimitKind::Random.into()) } else { Ok(()) }
    }
}

impl random::random::Host for Dice<'_> {
    fn get_random_bytes(&mut self, length: u64) -> wasmtime::Result<Vec<u8>> {
        self.check(length)?;
        random::random::Host::get_random_bytes(self.inner, length)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        random::random::Host::get_random_u64(self.inner)
    }
}

impl random::insecure::Host for Dice<'_> {
    fn get_insecure_random_bytes(&mut self, length: u64) -> wasmtime::Result<Vec<u8>> {
        self.check(length)?;
        random::insecure::Host::get_insecure_random_bytes(self.inner, length)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        random::insecure::Host::get_insecure_random_u64(self.inner)
    }
}

impl random::insecure_seed::Host for Dice<'_> {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        random::insecure_seed::Host::insecure_seed(self.inner)
    }
}
