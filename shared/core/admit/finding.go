package admit

import (
	"fmt"
	"regexp"

	"github.com/joiner-sh/joiner/shared/model"
)

// findings reads sentences that findings were printed as.
func findings(sentences []string) []model.Finding {
	var out []model.Finding
	for _, s := range sentences {
		out = append(out, model.ParseFinding(s))
	}
	return out
}

// unnumbered returns the finding without the numbers of list items, which change when one before it does.
func unnumbered(f model.Finding) model.Finding {
	f.Field, f.Message = numbers.ReplaceAllString(f.Field, "[]"), numbers.ReplaceAllString(f.Message, "[]")
	return f
}

var numbers = regexp.MustCompile(`\[\d+\]`)

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
