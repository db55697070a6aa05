package disruption

import "github.com/joiner-sh/joiner/shared/model"

// What disturbing an ordinary pod costs, in thousandths of itself, and the most one pod does.
const (
	ordinaryMilli = 1000
	mostMilli     = 10 * ordinaryMilli
)

// podCost returns what disturbing a pod costs, in thousandths of an ordinary pod, −10,000 to 10,000: 1 + deletion cost
// / 2²⁷ + priority / 2²⁵, as Karpenter has it. What is above 0 is 1 at least, however little.
func podCost(shape *model.PodShape) int64 {
	const unit = int64(1) << 27
	sum := unit + int64(shape.DeletionCost) + 4*int64(shape.Priority)
	milli := sum * ordinaryMilli / unit // towards 0
	if sum > 0 && milli == 0 {
		milli = 1
	}
	return max(-mostMilli, min(milli, mostMilli))
}

// nodeCost returns what disturbing pods costs together with disruption their node, and whether none of them costs
// anything.
func nodeCost(snapshot *model.Snapshot, pods []int) (milli int64, empty bool) {
	milli, empty = ordinaryMilli, true
	for _, i := range pods {
		if cost := podCost(snapshot.ShapeOf(&snapshot.Pods[i])); cost > 0 {
			milli, empty = milli+cost, false
		}
	}
	return milli, empty
}
