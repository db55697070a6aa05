// Package allowance does the sums of what all clusters of an account and region share of EC2's API: a token bucket of calls,
// and one of launches that may come back without capacity. Both are counted in thousandths and refilled by the ledger's
// clock. Who takes what for what purpose, and when launches ask the second bucket, is the flows'.
//
//	a := rates.Refilled(stored, now)
//	calls := allowance.Take(&a, now, 10) // 0 … 10
package allowance
