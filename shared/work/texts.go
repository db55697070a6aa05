package work

import (
	"fmt"
	"strings"
)

// Several is the first few of some texts, and how many more there are.
func Several(texts []string, most int, between string) string {
	out := strings.Join(texts[:min(most, len(texts))], between)
	if more := len(texts) - most; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}
