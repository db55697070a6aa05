package wire

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestEqualShapesShareANumberAndACopy(t *testing.T) {
	shape := func(app string) *model.PodShape {
		return &model.PodShape{Namespace: "a", Labels: map[string]string{"app": app, "tier": "web"}, Requests: model.Resources{model.CPU: 100, model.Pods: 1}}
	}
	var shapes Shapes
	one, first := shapes.Intern(shape("x"))
	two, _ := shapes.Intern(shape("y"))
	again, copy := shapes.Intern(shape("x"))
	if one == two || again != one || copy != first || shapes.Len() != 2 {
		t.Fatalf("numbers %d %d %d, %d shapes", one, two, again, shapes.Len())
	}
	if got := shapes.From(1); len(got) != 1 || got[0].Labels["app"] != "y" {
		t.Fatalf("from 1: %+v", got)
	}
	if shapes.From(2) != nil {
		t.Fatal("from the end there are none")
	}
}
