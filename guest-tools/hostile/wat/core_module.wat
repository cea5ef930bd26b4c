;; A core module: valid, but no component.
(module
  (memory (export "memory") 1)
  (func (export "call") (result i32) (i32.const 0)))
