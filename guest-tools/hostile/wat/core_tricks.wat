;; What Rust cannot be made to do: answers that break the canonical ABI, tables that grow, several memories.
;;
;; Its tools are told apart by the length of their names. Those that grow something answer `refused` when they may not;
;; with any arguments but `{}` they trap then, as a program does that cannot go on.
(component
  ;; One more memory; three of them together are over the limit where each alone is not.
  (core module $Memory
    (memory 1)
    ;; Pages before, or -1.
    (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))
  (core instance $one (instantiate $Memory))
  (core instance $two (instantiate $Memory))
  (core instance $three (instantiate $Memory))

  (core module $Main
    (import "one" "grow" (func $grow-one (param i32) (result i32)))
    (import "two" "grow" (func $grow-two (param i32) (result i32)))
    (import "three" "grow" (func $grow-three (param i32) (result i32)))

    (memory (export "memory") 1)
    (table $table 1 funcref)

    ;; 0..256: result area. 1024..: names. 2048..: shared texts. 4096..: definitions. 16384..: handed out by `realloc`.
    (data (i32.const 1024) "say bad_tag bad_utf8 huge_list grow_table odd_pointer wild_pointer grow_memories")
    (data (i32.const 2048) "Breaks the rules of the canonical ABI.")
    (data (i32.const 2112) "{\"type\":\"object\"}")
    (data (i32.const 2144) "refused")
    (data (i32.const 2152) "grown")
    (data (i32.const 2160) "said")
    (data (i32.const 2168) "\ff\fe\c3\28")

    (global $free (mut i32) (i32.const 16384))

    (func (export "realloc") (param $old i32) (param $old-size i32) (param $align i32) (param $size i32) (result i32)
      (local $at i32)
      (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
      (global.set $free (i32.add (local.get $at) (local.get $size)))
      (local.get $at))

    ;; Writes the `index`th definition: a record of three strings and an optional one, 36 bytes.
    (func $define (param $index i32) (param $name i32) (param $length i32)
      (local $at i32)
      (local.set $at (i32.add (i32.const 4096) (i32.mul (local.get $index) (i32.const 36))))
      (i32.store (local.get $at) (local.get $name))
      (i32.store offset=4 (local.get $at) (local.get $length))
      (i32.store offset=8 (local.get $at) (i32.const 2048))
      (i32.store offset=12 (local.get $at) (i32.const 38))
      (i32.store offset=16 (local.get $at) (i32.const 2112))
      (i32.store offset=20 (local.get $at) (i32.const 17))
      (i32.store offset=24 (local.get $at) (i32.const 0)))

    (func (export "definitions") (result i32)
      (call $define (i32.const 0) (i32.const 1024) (i32.const 3))
      (call $define (i32.const 1) (i32.const 1028) (i32.const 7))
      (call $define (i32.const 2) (i32.const 1036) (i32.const 8))
      (call $define (i32.const 3) (i32.const 1045) (i32.const 9))
      (call $define (i32.const 4) (i32.const 1055) (i32.const 10))
      (call $define (i32.const 5) (i32.const 1066) (i32.const 11))
      (call $define (i32.const 6) (i32.const 1078) (i32.const 12))
      (call $define (i32.const 7) (i32.const 1091) (i32.const 13))
      (i32.store (i32.const 0) (i32.const 4096))
      (i32.store (i32.const 4) (i32.const 8))
      (i32.const 0))

    ;; An answer with one content of the given tag and text; gives the result area.
    (func $answer (param $tag i32) (param $text i32) (param $length i32) (result i32)
      (i32.store (i32.const 0) (i32.const 0))
      (i32.store (i32.const 4) (i32.const 128))
      (i32.store (i32.const 8) (i32.const 1))
      (i32.store (i32.const 12) (i32.const 0))
      (i32.store (i32.const 128) (local.get $tag))
      (i32.store (i32.const 132) (local.get $text))
      (i32.store (i32.const 136) (local.get $length))
      (i32.const 0))

    (func $refused (param $arguments i32) (result i32)
      (if (i32.gt_u (local.get $arguments) (i32.const 2)) (then (unreachable)))
      (call $answer (i32.const 0) (i32.const 2144) (i32.const 7)))
    (func $grown (result i32) (call $answer (i32.const 0) (i32.const 2152) (i32.const 5)))

    (func (export "call")
      (param $name i32) (param $length i32) (param $text i32) (param $arguments i32) (result i32)
      (local $turn i32)
      (if (i32.eq (local.get $length) (i32.const 7)) ;; bad_tag: a case that the variant does not have
        (then (return (call $answer (i32.const 9) (i32.const 2160) (i32.const 4)))))
      (if (i32.eq (local.get $length) (i32.const 8)) ;; bad_utf8
        (then (return (call $answer (i32.const 0) (i32.const 2168) (i32.const 4)))))
      (if (i32.eq (local.get $length) (i32.const 9)) ;; huge_list: more contents than there is memory
        (then
          (drop (call $answer (i32.const 0) (i32.const 2160) (i32.const 4)))
          (i32.store (i32.const 8) (i32.const 0x0fffffff))
          (return (i32.const 0))))
      (if (i32.eq (local.get $length) (i32.const 10)) ;; grow_table: to two million elements
        (then
          (loop $more
            (if (i32.eq (table.grow $table (ref.null func) (i32.const 1000)) (i32.const -1))
              (then (return (call $refused (local.get $arguments)))))
            (local.set $turn (i32.add (local.get $turn) (i32.const 1)))
            (br_if $more (i32.lt_u (local.get $turn) (i32.const 2000))))
          (return (call $grown))))
      (if (i32.eq (local.get $length) (i32.const 11)) ;; odd_pointer: a result area that is not aligned
        (then
          (drop (call $answer (i32.const 0) (i32.const 2160) (i32.const 4)))
          (return (i32.const 1))))
      (if (i32.eq (local.get $length) (i32.const 12)) ;; wild_pointer: a result area beyond the memory
        (then (return (i32.const 0xfffffff0))))
      (if (i32.eq (local.get $length) (i32.const 13)) ;; grow_memories: by 32 MiB each
        (then
          (if (i32.eq (call $grow-one (i32.const 512)) (i32.const -1)) (then (return (call $refused (local.get $arguments)))))
          (if (i32.eq (call $grow-two (i32.const 512)) (i32.const -1)) (then (return (call $refused (local.get $arguments)))))
          (if (i32.eq (call $grow-three (i32.const 512)) (i32.const -1)) (then (return (call $refused (local.get $arguments)))))
          (return (call $grown))))
      (call $answer (i32.const 0) (i32.const 2160) (i32.const 4))))

  (core instance $main (instantiate $Main
    (with "one" (instance $one))
    (with "two" (instance $two))
    (with "three" (instance $three))))

  (type $optional-text (option string))
  (type $definition (record
    (field "name" string) (field "description" string)
    (field "input-schema" string) (field "output-schema" $optional-text)))
  (type $image (record (field "mime-type" string) (field "data" (list u8))))
  (type $resource-link (record
    (field "uri" string) (field "name" string) (field "mime-type" $optional-text)))
  (type $content (variant (case "text" string) (case "image" $image) (case "resource-link" $resource-link)))
  (type $output (record (field "content" (list $content)) (field "structured" $optional-text)))
  (type $error-kind (enum "invalid-arguments" "not-found" "denied" "conflict"
    "too-large" "unsupported" "unavailable" "failed"))
  (type $error (record (field "kind" $error-kind) (field "message" string)))

  (alias core export $main "memory" (core memory $memory))
  (alias core export $main "realloc" (core func $realloc))
  (alias core export $main "definitions" (core func $core-definitions))
  (alias core export $main "call" (core func $core-call))
  (func $definitions (result (list $definition))
    (canon lift (core func $core-definitions) (memory $memory)))
  (func $call (param "name" string) (param "arguments" string) (result (result $output (error $error)))
    (canon lift (core func $core-call) (memory $memory) (realloc $realloc)))

  ;; An exported function may only use types that are exported beside it, so a component in between takes them by
  ;; one set of names and gives them out by another.
  (component $Named
    (type $optional-text (option string))
    (type $definition' (record
      (field "name" string) (field "description" string)
      (field "input-schema" string) (field "output-schema" $optional-text)))
    (import "definition" (type $definition-in (eq $definition')))
    (type $image' (record (field "mime-type" string) (field "data" (list u8))))
    (import "image" (type $image-in (eq $image')))
    (type $resource-link' (record
      (field "uri" string) (field "name" string) (field "mime-type" $optional-text)))
    (import "resource-link" (type $resource-link-in (eq $resource-link')))
    (type $content' (variant
      (case "text" string) (case "image" $image-in) (case "resource-link" $resource-link-in)))
    (import "content" (type $content-in (eq $content')))
    (type $output' (record (field "content" (list $content-in)) (field "structured" $optional-text)))
    (import "output" (type $output-in (eq $output')))
    (type $error-kind' (enum "invalid-arguments" "not-found" "denied" "conflict"
      "too-large" "unsupported" "unavailable" "failed"))
    (import "error-kind" (type $error-kind-in (eq $error-kind')))
    (type $error' (record (field "kind" $error-kind-in) (field "message" string)))
    (import "error" (type $error-in (eq $error')))
    (import "definitions" (func $definitions (result (list $definition-in))))
    (import "call" (func $call (param "name" string) (param "arguments" string)
      (result (result $output-in (error $error-in)))))

    (type $definition'' (record
      (field "name" string) (field "description" string)
      (field "input-schema" string) (field "output-schema" $optional-text)))
    (export $definition "definition" (type $definition''))
    (type $image'' (record (field "mime-type" string) (field "data" (list u8))))
    (export $image "image" (type $image''))
    (type $resource-link'' (record
      (field "uri" string) (field "name" string) (field "mime-type" $optional-text)))
    (export $resource-link "resource-link" (type $resource-link''))
    (type $content'' (variant
      (case "text" string) (case "image" $image) (case "resource-link" $resource-link)))
    (export $content "content" (type $content''))
    (type $output'' (record (field "content" (list $content)) (field "structured" $optional-text)))
    (export $output "output" (type $output''))
    (type $error-kind'' (enum "invalid-arguments" "not-found" "denied" "conflict"
      "too-large" "unsupported" "unavailable" "failed"))
    (export $error-kind "error-kind" (type $error-kind''))
    (type $error'' (record (field "kind" $error-kind) (field "message" string)))
    (export $error "error" (type $error''))
    (export "definitions" (func $definitions) (func (result (list $definition))))
    (export "call" (func $call) (func (param "name" string) (param "arguments" string)
      (result (result $output (error $error))))))
  (instance $named (instantiate $Named
    (with "definition" (type $definition))
    (with "image" (type $image))
    (with "resource-link" (type $resource-link))
    (with "content" (type $content))
    (with "output" (type $output))
    (with "error-kind" (type $error-kind))
    (with "error" (type $error))
    (with "definitions" (func $definitions))
    (with "call" (func $call))))
  (export "ringfence:tool/tool@0.1.0" (instance $named)))
