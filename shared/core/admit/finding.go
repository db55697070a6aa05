package admit

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// findings reads sentences of the form that field errors have: field: "value": message. Remedy: remedy.
func findings(sentences []string) []model.Finding {
	var out []model.Finding
	for _, s := range sentences {
		out = append(out, finding(s))
	}
	return out
}

func finding(sentence string) model.Finding {
	var f model.Finding
	sentence, f.Remedy, _ = strings.Cut(sentence, ". Remedy: ")
	field, rest, found := strings.Cut(sentence, ": ")
	if !found || strings.ContainsAny(field, " \"") {
		f.Message = sentence
		return f
	}
	f.Field, f.Message = field, rest
	if quoted, err := strconv.QuotedPrefix(rest); err == nil {
		if after, colon := strings.CutPrefix(rest[len(quoted):], ": "); colon {
			f.Value, _ = strconv.Unquote(quoted)
			f.Message = after
		}
	}
	return f
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
