package offering

import "strings"

// QuotaGroup names the group of instance families whose vCPUs an account's limit counts together, such as standard for A,
// C, D, H, I, M, R, T and Z. Of the families that have a limit of their own it is the leading letters of their name.
//
// Source: the service quotas of Amazon EC2, "Running On-Demand … instances" and "All … Spot Instance Requests".
func QuotaGroup(instanceType string) string {
	letters := strings.IndexFunc(instanceType, func(r rune) bool { return r < 'a' || r > 'z' })
	if letters < 0 {
		letters = len(instanceType)
	}
	switch family := instanceType[:letters]; family {
	case "a", "c", "d", "h", "i", "im", "is", "m", "r", "t", "z":
		return "standard"
	case "g", "gr", "vt":
		return "g"
	default:
		return family
	}
}
