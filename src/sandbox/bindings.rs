//! The Rust side of `wit/`, generated: one trait and one `add_to_linker` for each host interface.

wasmtime::component::bindgen!({
    inline: "
        package ringfence:bound@0.1.0;

        world bound {
            import ringfence:host/log@0.1.0;
            import ringfence:host/exec@0.1.0;
            import ringfence:host/message@0.1.0;
            import ringfence:host/spawn@0.1.0;
            import ringfence:host/tasks@0.1.0;
            import ringfence:host/cron@0.1.0;
            export ringfence:tool/tool@0.1.0;
        }
    ",
    path: ["wit/ringfence-host", "wit/ringfence-tool"],
    world: "ringfence:bound/bound",
    imports: { default: async | trappable },
    exports: { default: async },
});
