package translate

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	v1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/api/wellknown"
	"github.com/joiner-sh/joiner/shared/model"
)

// The model spells the names it uses itself, because it imports nothing; they are the API's.
func TestTheModelsNamesAreTheAPIs(t *testing.T) {
	for _, names := range [][2]string{
		{model.AnnotationPoolHash, wellknown.AnnotationNodePoolHash}, {model.AnnotationPoolHashVersion, wellknown.AnnotationNodePoolHashVersion},
		{model.AnnotationClassHash, wellknown.AnnotationEC2NodeClassHash}, {model.AnnotationClassHashVersion, wellknown.AnnotationEC2NodeClassHashVersion},
		{model.PoolHashVersion, v1.NodePoolHashVersion}, {model.ClassHashVersion, awsv1.EC2NodeClassHashVersion},
	} {
		if names[0] != names[1] {
			t.Errorf("the model says %q and the API %q", names[0], names[1])
		}
	}
}
