// Command referencedoc writes pages of docs/reference from what they describe: settings.md from the options of infra/cdk and the structs that programs
// read their environment into, api.md from the CRDs, iam.md from the templates, events.md from the names that code shows to people. Meanings stand in CSV files; what
// has none fails, and so does a meaning of what is not there.
//
//	go run ./testenv/repository/referencedoc docs/reference
package main
