// Package why has the commands that explain a cluster and its past: why, savings, report and decisions.
//
//	commands := []*cobra.Command{why.New(), why.NewSavings(), why.NewReport(), why.NewDecisions()}
package why
