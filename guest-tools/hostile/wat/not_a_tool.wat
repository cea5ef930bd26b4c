;; A component that exports nothing.
(component)
