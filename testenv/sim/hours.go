package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Mode is one of the ways to draw worlds from seeds.
type Mode struct {
	Name string
	Flag string // of the command that plays a seed in this way; empty = none is needed
	Draw func(seed uint64) Config
	Only func(c Config) bool // which of the runs drawn are made; nil = all
}

// Modes returns all there are, in the order a long campaign takes them in turn.
func Modes() []Mode {
	return []Mode{
		{Name: "drawn", Draw: Draw},
		{Name: "choices", Flag: "-choices", Draw: Draw, Only: func(c Config) bool { return c.Scenario.Choices }},
		{Name: "room", Flag: "-room", Draw: DrawRoom},
		{Name: "readings", Flag: "-readings", Draw: DrawReadings},
		{Name: "devices", Flag: "-devices", Draw: DrawDevices},
	}
}

// FirstSeed returns the seed a campaign of a commit begins with, so that each commit is played with seeds of its own: the
// first twelve digits of its hash.
func FirstSeed(commit string) (uint64, error) {
	if len(commit) < 12 {
		return 0, fmt.Errorf("commit %q is not a whole hash: name one of at least 12 hexadecimal digits", commit)
	}
	first, err := strconv.ParseUint(commit[:12], 16, 64)
	if err != nil {
		return 0, fmt.Errorf("commit %q is not a hash: name one of hexadecimal digits", commit)
	}
	return first, nil
}

// LongCampaign plays so many simulated hours of a commit, mode after mode, whatever breaks. What is over is kept in a file, so
// that it can be stopped at any time and goes on where it was; at most one block is played again.
type LongCampaign struct {
	Commit string
	First  uint64  // the seed of the first run
	Hours  float64 // simulated ones after which it is over
	Cores  int
	Block  uint64 // runs between two notes in the file; 0 = 100
	File   string
	Modes  []Mode           // nil = all
	Now    func() time.Time // for how long it took
	Report io.Writer        // is told of each block, and of each failure
}

// Failure is a run that broke a rule: the first one it broke.
type Failure struct {
	Seed   uint64 `json:"seed"`
	Mode   string `json:"mode"`
	Rule   string `json:"rule"`
	Object string `json:"object,omitempty"`
	Text   string `json:"text"`
}

// Progress is what a long campaign has come to.
type Progress struct {
	Commit string        `json:"commit"`
	First  uint64        `json:"first"`
	Block  uint64        `json:"block"` // runs
	Blocks uint64        `json:"blocks"`
	Stats  Stats         `json:"stats"`
	Took   time.Duration `json:"took"` // ns
	Failed []Failure     `json:"failed,omitempty"`
}

// Run plays what is left and returns what all of it came to.
func (l LongCampaign) Run() (Progress, error) {
	if l.Block == 0 {
		l.Block = 100
	}
	if l.Modes == nil {
		l.Modes = Modes()
	}
	p, err := l.load()
	if err != nil {
		return p, err
	}
	for p.Stats.Simulated.Hours() < l.Hours {
		mode := l.Modes[p.Blocks%uint64(len(l.Modes))]
		campaign := Campaign{
			First: l.First + p.Blocks*l.Block, Draw: mode.Draw, Only: mode.Only, Cores: l.Cores, Runs: l.Block, Stop: int(l.Block) + 1, Now: l.Now,
		}
		began := l.Now()
		stats, failed := campaign.Run()
		p.Took += l.Now().Sub(began)
		p.Blocks++
		p.Stats.Add(stats)
		for i := range failed {
			v := failed[i].Violations[0]
			f := Failure{failed[i].Config.Seed, mode.Name, v.Rule, v.Object, v.Text}
			p.Failed = append(p.Failed, f)
			_, _ = fmt.Fprintf(l.Report, "BROKEN %s\n", f)
		}
		_, _ = fmt.Fprintf(l.Report, "%.0f of %.0f simulated hours, %d runs, %d failed, %s\n", p.Stats.Simulated.Hours(), l.Hours, p.Stats.Runs, len(p.Failed), p.Took.Round(time.Second))
		if err := l.save(p); err != nil {
			return p, err
		}
	}
	return p, nil
}

// load reads the file; where there is none, the campaign begins.
func (l LongCampaign) load() (Progress, error) {
	begun := Progress{Commit: l.Commit, First: l.First, Block: l.Block}
	text, err := os.ReadFile(l.File)
	if errors.Is(err, fs.ErrNotExist) {
		return begun, nil
	}
	if err != nil {
		return begun, fmt.Errorf("read how far the campaign is: %w", err)
	}
	var p Progress
	if err := json.Unmarshal(text, &p); err != nil {
		return begun, fmt.Errorf("read how far the campaign is from %s: %w; delete it to begin anew", l.File, err)
	}
	if p.Commit != l.Commit || p.First != l.First || p.Block != l.Block {
		return begun, fmt.Errorf("%s is of commit %s, seeds from %d in blocks of %d, and this campaign is of %s, %d, %d: delete it to begin anew",
			l.File, p.Commit, p.First, p.Block, l.Commit, l.First, l.Block)
	}
	return p, nil
}

// save writes the file whole or not at all.
func (l LongCampaign) save(p Progress) error {
	text, err := json.MarshalIndent(p, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(l.File), 0o755)
	}
	if err == nil {
		err = os.WriteFile(l.File+".new", text, 0o644)
	}
	if err == nil {
		err = os.Rename(l.File+".new", l.File)
	}
	if err != nil {
		return fmt.Errorf("note how far the campaign is: %w", err)
	}
	return nil
}

// String says what broke, and how the run is made again.
func (f Failure) String() string {
	flag := ""
	for _, mode := range Modes() {
		if mode.Name == f.Mode && mode.Flag != "" {
			flag = mode.Flag + " "
		}
	}
	return fmt.Sprintf("%s %s: %s (SIMFLAGS=\"%s-seed %d\")", f.Rule, f.Object, f.Text, flag, f.Seed)
}

// Summary writes what a campaign came to: hours, runs, and failures by the rule that was broken, with their seeds.
func (p Progress) Summary(w io.Writer) {
	_, _ = fmt.Fprintf(w, "commit %s, seeds %d to %d, %s\n%s\n", p.Commit, p.First, p.First+p.Blocks*p.Block-1, p.Took.Round(time.Second), p.Stats.String())
	rules := map[string][]Failure{}
	for _, f := range p.Failed {
		rules[f.Rule] = append(rules[f.Rule], f)
	}
	_, _ = fmt.Fprintf(w, "%d runs broke a rule\n", len(p.Failed))
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		_, _ = fmt.Fprintf(w, "  %s: %d\n", rule, len(rules[rule]))
		for _, f := range rules[rule] {
			_, _ = fmt.Fprintf(w, "    %s\n", f)
		}
	}
}
