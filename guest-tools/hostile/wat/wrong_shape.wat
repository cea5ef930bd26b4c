;; Exports an interface by the right name, with a function of another type.
(component
  (core module $Main
    (func (export "definitions") (result i32) (i32.const 0)))
  (core instance $main (instantiate $Main))
  (alias core export $main "definitions" (core func $core-definitions))
  (func $definitions (result u32) (canon lift (core func $core-definitions)))
  (instance $tool (export "definitions" (func $definitions)))
  (export "ringfence:tool/tool@0.1.0" (instance $tool)))
