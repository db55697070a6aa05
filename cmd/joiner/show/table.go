package show

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/term"

	"github.com/joiner-sh/joiner/shared/model"
)

const (
	hoursPerMonth = 730
	mostRows      = 30 // of new nodes
	mostNodes     = 5  // of those that exist
	mostReasons   = 20 // entries of pods nothing can hold
	mostPools     = 6  // named in one reason
)

// table is text for people on its way.
type table struct {
	text    strings.Builder
	columns int  // that a line may have
	whole   bool // rows that are wider are written whole: they are for no terminal
}

// newTable begins a text that fits what it is written to.
func newTable(out io.Writer) *table {
	_, known := columnsOf(out)
	return &table{columns: Width(out, Preset), whole: !known}
}

func (t *table) line(format string, args ...any) {
	text := plain(fmt.Sprintf(format, args...))
	t.text.WriteString(strings.TrimRight(text, " "))
	t.text.WriteByte('\n')
}

// plain is text with what a terminal would obey, or show as nothing, as spaces: names in a file may hold anything.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
}

// dispensable are the columns left out, first to last, where a table is too wide.
var dispensable = []string{"ZONE", "IN ALL", "TYPES", "DEVICES", "MAY BE IN", "ZONES", "AGE", "CAPACITY", "NODEPOOL"}

// grid writes rows in columns, right-justified where align has an r.
func (t *table) grid(rows [][]string, align string) {
	width := widths(rows)
	for _, head := range dispensable {
		if sum(width)+2*(len(width)-1) <= t.columns {
			break
		}
		if c := slices.Index(rows[0], head); c >= 0 {
			for i := range rows {
				rows[i] = slices.Delete(rows[i], c, c+1)
			}
			align, width = align[:c]+align[c+1:], slices.Delete(width, c, c+1)
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for c, cell := range row {
			if c > 0 {
				line.WriteString("  ")
			}
			space := strings.Repeat(" ", width[c]-len([]rune(cell)))
			if align[c] == 'r' {
				line.WriteString(space + cell)
			} else {
				line.WriteString(cell + space)
			}
		}
		t.line("%s", t.cut(strings.TrimRight(line.String(), " ")))
	}
}

// cut returns as much of a row as the terminal has columns for: all of it where there is none.
func (t *table) cut(row string) string {
	if t.whole {
		return row
	}
	return short(row, t.columns)
}

// widths returns how wide each column is.
func widths(rows [][]string) []int {
	out := make([]int, len(rows[0]))
	for _, row := range rows {
		for c, cell := range row {
			out[c] = max(out[c], len([]rune(cell)))
		}
	}
	return out
}

func sum(list []int) int {
	n := 0
	for _, v := range list {
		n += v
	}
	return n
}

// sentence writes text for people, in as many lines as it takes.
func (t *table) sentence(format string, args ...any) {
	t.wrapped("", "  ", fmt.Sprintf(format, args...))
}

// wrapped writes text in lines that fit.
func (t *table) wrapped(first, others, text string) {
	line, empty := first, true
	for _, word := range strings.Fields(text) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > t.columns {
			t.line("%s", line)
			line, empty = others, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	t.line("%s", line)
}

func price(amount model.MicroUSD) string { return fmt.Sprintf("%.4f", amount.USD()) }

func dollars(amount float64) string { return fmt.Sprintf("$%.4f", amount) }

func dollarsRound(amount float64) string {
	if amount < 100 {
		return fmt.Sprintf("$%.2f", amount)
	}
	return fmt.Sprintf("$%.0f", amount)
}

// short cuts text that is longer than most.
func short(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// micro writes a price of an hour.
func micro(amount model.MicroUSD) string {
	if amount < 0 {
		return "-" + dollars((-amount).USD())
	}
	return dollars(amount.USD())
}

// Indented writes any answer for programs. Times are Unix seconds, prices micro-dollars per hour.
func Indented(out io.Writer, answer any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(answer)
}

func clock(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

// Preset is how many columns there are in what is written to no terminal.
const Preset = 120

const narrowest = 40 // columns: below them no table can be read

// Width returns how many columns a line may have: COLUMNS where it is set, else those of the terminal that out is, else
// the preset.
func Width(out io.Writer, preset int) int {
	if n, known := columnsOf(out); known {
		return max(n, narrowest)
	}
	return preset
}

// columnsOf returns what COLUMNS says, else how many columns the terminal has that out is; false where out is none.
func columnsOf(out io.Writer) (int, bool) {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		return n, true
	}
	if file, is := out.(interface{ Fd() uintptr }); is {
		if n, _, err := term.GetSize(int(file.Fd())); err == nil && n > 0 {
			return n, true
		}
	}
	return 0, false
}

// IsTerminal reports whether text is written to a terminal.
func IsTerminal(out io.Writer) bool {
	file, is := out.(interface{ Fd() uintptr })
	return is && term.IsTerminal(int(file.Fd()))
}

// Colored reports whether text may have colors: a terminal shows them, unless NO_COLOR is set. CLICOLOR_FORCE has them
// written to anything.
func Colored(out io.Writer) bool {
	if os.Getenv("NO_COLOR") != "" {
		return false
	}
	return os.Getenv("CLICOLOR_FORCE") != "" || IsTerminal(out) && os.Getenv("TERM") != "dumb"
}
