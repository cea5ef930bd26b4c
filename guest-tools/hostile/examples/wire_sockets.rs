//! Connects to this machine by every kind of socket, and asks for a name.

use hostile::{answer, tool};
use serde::{Deserialize, Serialize};
use wasip2::{
    clocks::monotonic_clock,
    io::poll,
    sockets::{
        instance_network::instance_network,
        ip_name_lookup,
        network::{ErrorCode, IpAddressFamily, IpSocketAddress, Ipv4SocketAddress},
        tcp_create_socket::create_tcp_socket,
        udp::OutgoingDatagram,
        udp_create_socket::create_udp_socket,
    },
};

/// Nanoseconds that an attempt waits at most, so that an answer always comes.
const PATIENCE: u64 = 2_000_000_000;

#[derive(Deserialize)]
struct Target {
    port: u16,
    name: String,
}

#[derive(Serialize)]
struct Reached {
    tcp_connect: String,
    tcp_listen: String,
    udp_send: String,
    udp_send_connected: String,
    lookup: String,
}

tool!(Reach, "grab_sockets", "Reaches for the network.", Target, |target| answer(&Reached {
    tcp_connect: outcome(tcp_connect(target.port)),
    tcp_listen: outcome(tcp_listen()),
    udp_send: outcome(udp_send(target.port, false)),
    udp_send_connected: outcome(udp_send(target.port, true)),
    lookup: outcome(lookup(&target.name)),
}));

fn outcome(result: Result<(), ErrorCode>) -> String {
    match result {
        Ok(()) => "ok".to_owned(),
        Err(code) => code.name().to_owned(),
    }
}

fn local(port: u16) -> IpSocketAddress {
    IpSocketAddress::Ipv4(Ipv4SocketAddress { port, address: (127, 0, 0, 1) })
}

fn wait(ready: &poll::Pollable) {
    poll::poll(&[ready, &monotonic_clock::subscribe_duration(PATIENCE)]);
}

fn tcp_connect(port: u16) -> Result<(), ErrorCode> {
    let socket = create_tcp_socket(IpAddressFamily::Ipv4)?;
    socket.start_connect(&instance_network(), local(port))?;
    wait(&socket.subscribe());
    let (_input, output) = socket.finish_connect()?;
    output.blocking_write_and_flush(b"from the guest").map_err(|_| ErrorCode::ConnectionReset)
}

fn tcp_listen() -> Result<(), ErrorCode> {
    let socket = create_tcp_socket(IpAddressFamily::Ipv4)?;
    socket.start_bind(&instance_network(), local(0))?;
    socket.finish_bind()?;
    socket.start_listen()?;
    socket.finish_listen()
}

fn udp_send(port: u16, connected: bool) -> Result<(), ErrorCode> {
    let socket = create_udp_socket(IpAddressFamily::Ipv4)?;
    socket.start_bind(&instance_network(), local(0))?;
    socket.finish_bind()?;
    let (_incoming, outgoing) = socket.stream(connected.then(|| local(port)))?;
    wait(&outgoing.subscribe());
    outgoing.check_send()?;
    let datagram = OutgoingDatagram {
        data: b"from the guest".to_vec(),
        remote_address: (!connected).then(|| local(port)),
    };
    match outgoing.send(&[datagram])? {
        0 => Err(ErrorCode::WouldBlock),
        _ => Ok(()),
    }
}

fn lookup(name: &str) -> Result<(), ErrorCode> {
    let addresses = ip_name_lookup::resolve_addresses(&instance_network(), name)?;
    wait(&addresses.subscribe());
    match addresses.resolve_next_address()? {
        Some(_) => Ok(()),
        None => Err(ErrorCode::NameUnresolvable),
    }
}

ringfence_tool::export_tool!(Reach);
