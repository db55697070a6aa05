// Package testenv holds the rules of the house: tests of what may import what (floors_test.go), of the words of names, comments and pages, and
// of this folder itself.
//
// Below it are what runs AWS and EKS on one computer (local, a module of its own), tests on real parts (test), the simulator (sim), benchmarks,
// referees and Karpenter's own suites (bench), what the control plane costs (cost), and what measures the repository and writes its pages (repository).
//
// Nothing that ships imports anything below this folder.
package testenv
