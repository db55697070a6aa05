package ec2fleet

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// pageSize is how much one page holds at most. Source: EC2 API reference, pagination.
const pageSize = 1000

// interrupted are the status codes of spot requests whose instance EC2 is about to take, or has taken, for reasons of
// its own. Where it needs the capacity the request is instance-terminated-no-capacity from the warning on, while the
// instance runs for two minutes more. Source: EC2 user guide, "Get the status of a Spot Instance request".
var interrupted = []string{
	"marked-for-stop", "marked-for-termination", "marked-for-stop-by-experiment",
	"instance-stopped-by-experiment", "instance-stopped-by-price", "instance-stopped-no-capacity",
	"instance-terminated-by-experiment", "instance-terminated-by-price", "instance-terminated-by-schedule",
	"instance-terminated-by-service",
	"instance-terminated-capacity-oversubscribed", "instance-terminated-launch-group-constraint",
	"instance-terminated-no-capacity",
}

// Interrupted returns the cluster's spot instances that EC2 has marked for termination or has stopped or terminated for
// its own reasons, by instance id, with the time its request's status was last changed. They are found by the tags of
// their requests, which launch templates set, ours as Karpenter's. EC2 shows a request for some hours after its
// instance has ended. Source: EC2 API reference, SpotInstanceStatus.
func (f *Fleet) Interrupted(ctx context.Context, cluster string) ([]model.SpotInterruption, error) {
	pages := ec2.NewDescribeSpotInstanceRequestsPaginator(f.client, &ec2.DescribeSpotInstanceRequestsInput{
		MaxResults: aws.Int32(pageSize),
		Filters:    append(ofCluster(cluster), types.Filter{Name: aws.String("status-code"), Values: interrupted}),
	})
	found := map[string]model.SpotInterruption{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, translate(err, "list the interrupted spot requests of cluster %s", cluster)
		}
		for _, request := range page.SpotInstanceRequests {
			is := model.SpotInterruption{InstanceID: aws.ToString(request.InstanceId)}
			if is.InstanceID == "" {
				continue
			}
			if request.Status != nil && request.Status.UpdateTime != nil {
				is.SinceUnix = request.Status.UpdateTime.Unix()
			}
			found[is.InstanceID] = is
		}
	}
	return slices.SortedFunc(maps.Values(found),
		func(a, b model.SpotInterruption) int { return cmp.Compare(a.InstanceID, b.InstanceID) }), nil
}

// scheduled are the codes of events that make an instance leave. Source: EC2 API reference, DescribeInstanceStatus.
var scheduled = []string{
	string(types.EventCodeInstanceReboot), string(types.EventCodeSystemReboot),
	string(types.EventCodeSystemMaintenance),
	string(types.EventCodeInstanceRetirement), string(types.EventCodeInstanceStop),
}

// Impaired returns what is wrong with the running instances of account and region, whoever owns them, by instance id,
// kind and code: failed status checks with the time since when, and scheduled events that are neither completed nor
// canceled. Checks of attached volumes are left out, and failed ones that do not say since when. Each is asked for by
// itself, because EC2 joins filters by and.
func (f *Fleet) Impaired(ctx context.Context) ([]model.Impairment, error) {
	var found []model.Impairment
	for _, query := range []types.Filter{
		{Name: aws.String("instance-status.status"), Values: []string{string(types.SummaryStatusImpaired)}},
		{Name: aws.String("system-status.status"), Values: []string{string(types.SummaryStatusImpaired)}},
		{Name: aws.String("event.code"), Values: scheduled},
	} {
		pages := ec2.NewDescribeInstanceStatusPaginator(f.client,
			&ec2.DescribeInstanceStatusInput{MaxResults: aws.Int32(pageSize), Filters: []types.Filter{query}})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return nil, translate(err, "list instances by %s", aws.ToString(query.Name))
			}
			for i := range page.InstanceStatuses {
				found = append(found, impairments(&page.InstanceStatuses[i])...)
			}
		}
	}
	slices.SortFunc(found, func(a, b model.Impairment) int {
		return cmp.Or(strings.Compare(a.InstanceID, b.InstanceID), strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Code, b.Code),
			cmp.Compare(a.SinceUnix, b.SinceUnix), strings.Compare(a.Message, b.Message))
	})
	return slices.Compact(found), nil // one that fails in two ways is in two answers
}

// impairments returns what a status says is wrong.
func impairments(s *types.InstanceStatus) []model.Impairment {
	id := aws.ToString(s.InstanceId)
	if id == "" {
		return nil
	}
	var out []model.Impairment
	add := func(kind, what string, summary *types.InstanceStatusSummary) {
		if summary == nil {
			return
		}
		for _, d := range summary.Details {
			if d.Status != types.StatusTypeFailed || d.ImpairedSince == nil {
				continue
			}
			since := d.ImpairedSince.UTC().Format(time.RFC3339)
			out = append(out, model.Impairment{
				InstanceID: id, Kind: kind, SinceUnix: d.ImpairedSince.Unix(), Code: string(d.Name),
				Message: what + " status check " + string(d.Name) + " has failed since " + since,
			})
		}
	}
	add(model.ImpairedInstance, "instance", s.InstanceStatus)
	add(model.ImpairedSystem, "system", s.SystemStatus)
	for _, e := range s.Events {
		if !slices.Contains(scheduled, string(e.Code)) || over(aws.ToString(e.Description)) {
			continue
		}
		message := aws.ToString(e.Description)
		if e.NotBefore != nil {
			message = strings.TrimPrefix(message+", not before "+e.NotBefore.UTC().Format(time.RFC3339), ", ")
		}
		out = append(out,
			model.Impairment{InstanceID: id, Kind: model.ImpairedEvent, Code: string(e.Code), Message: message})
	}
	return out
}

// over reports whether the description of an event says that it has ended, which EC2 goes on describing for a week.
// Source: EC2 API reference, InstanceStatusEvent.
func over(description string) bool {
	description = strings.ToLower(description)
	return strings.HasPrefix(description, "[completed]") || strings.HasPrefix(description,
		"[canceled]") || strings.HasPrefix(description, "[cancelled]")
}
