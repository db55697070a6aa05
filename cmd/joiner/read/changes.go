package read

import (
	"errors"
	"fmt"
	"strings"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

// Changes reads NodePools and EC2NodeClasses that are not applied yet, as Files does; a flag gives the paths. Anything else in
// them is an error, as is a NodePool that an API server would refuse, and files that have neither.
func Changes(flag string, paths []string, options Options) (pools []model.Pool, classes []model.Class, err error) {
	options.flag, options.only = flag, map[string]bool{apiv1.KindNodePool: true, awsv1.KindEC2NodeClass: true}
	cluster, err := Files(paths, options)
	if err != nil {
		return nil, nil, err
	}
	pools, classes = cluster.Snapshot.Pools, cluster.Snapshot.Classes
	var problems []error
	for _, warning := range cluster.Warnings { // of another version
		problems = append(problems, fmt.Errorf("%s: %s", flag, warning))
	}
	for i := range pools {
		if len(pools[i].Invalid) > 0 {
			problems = append(problems, fmt.Errorf("%s: NodePool %s: %s", flag, pools[i].Name, strings.Join(pools[i].Invalid, "; ")))
		}
	}
	if len(pools)+len(classes) == 0 && len(problems) == 0 {
		problems = append(problems, fmt.Errorf("%s %s: it has no NodePool or EC2NodeClass", flag, strings.Join(paths, ", ")))
	}
	return pools, classes, errors.Join(problems...)
}
