// Command paritydoc writes docs/reference/parity.md, the table of what Joiner holds and which tests hold it, and
// docs/reference/fields.md, the table of what becomes of each field of the CRDs. Their rows stand in CSV files here.
//
// A row of parity.csv is something that Karpenter does (F and the rows with two letters), that must never happen (A, B,
// C), that went wrong elsewhere (S, R), or that Karpenter does not have (D). It names the tests that hold it, those of
// a table as TEST/CASE, where CASE is how the case's name begins. A row that is not kept says what is missing. A row
// with neither fails, and so does one that names a test that does not exist.
//
//	go run ./testenv/repository/paritydoc docs/reference
package main
