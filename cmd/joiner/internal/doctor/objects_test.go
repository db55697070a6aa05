package doctor

import (
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/shared/model"
)

// U46: a class has one line, whatever is wrong with it; what is unknown because of that is left out.
func TestU46AClassHasOneLine(t *testing.T) {
	wrong := model.ClassProblem{Reason: "SubnetsNotFound", Message: "none has the tag"}
	also := model.ClassProblem{Reason: "AMIsNotFound", Message: "none has the id"}
	unknown := model.ClassProblem{Reason: "DryRun", Message: "it has not run", Unknown: true}
	for _, c := range []struct {
		problems []model.ClassProblem
		level    check.Level
		seen     string
	}{
		{[]model.ClassProblem{unknown, wrong, also}, check.Fail,
			"SubnetsNotFound: none has the tag; AMIsNotFound: none has the id"},
		{[]model.ClassProblem{unknown}, check.Warn, "DryRun: it has not run"},
	} {
		record := &model.ClassRecord{Name: "nodes", Status: model.ClassStatus{Problems: c.problems}}
		if f, is := classFinding(record); !is || f.Level != c.level || f.Seen != c.seen || f.Do == "" {
			t.Errorf("%+v: %v %+v", c.problems, is, f)
		}
	}
	if f, is := classFinding(&model.ClassRecord{}); is {
		t.Errorf("of a class that is well: %+v", f)
	}
}
