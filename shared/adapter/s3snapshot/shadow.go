package s3snapshot

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/model"
)

// Recorded lists the decisions of either kind that are recorded under the days of a span, in the order of their ids, day by day. It
// reads none of them.
func (s *Store) Recorded(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Recorded, error) {
	keys, err := s.recordKeys(ctx, "decisions/", cluster, fromUnix, toUnix, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	out := make([]model.Recorded, len(keys))
	for i, key := range keys {
		parts := strings.Split(strings.TrimSuffix(key, extension), "/")
		id, evaluated := strings.CutPrefix(parts[len(parts)-1], disrupt)
		out[i] = model.Recorded{ID: id, Kind: model.KindProvision, Day: parts[len(parts)-2]}
		if evaluated {
			out[i].Kind = model.KindDisrupt
		}
	}
	slices.SortStableFunc(out, func(a, b model.Recorded) int { return strings.Compare(a.Day+a.ID, b.Day+b.ID) })
	return out, nil
}

// Clusters names the clusters that decisions are recorded of, sorted.
func (s *Store) Clusters(ctx context.Context) ([]string, error) { return s.folders(ctx, "decisions/") }

// PutShadow stores how another version makes a decision of a day, as Day names it. Putting it again replaces it.
func (s *Store) PutShadow(ctx context.Context, day string, shadowed model.Shadowed) error {
	return s.putRecord(ctx, shadowFolder(shadowed.Cluster, day, shadowed.By)+shadowed.Decision+extension, shadowed)
}

// Shadow reads what PutShadow stored. NotFound where nothing is.
func (s *Store) Shadow(ctx context.Context, cluster, day, by, decision string) (model.Shadowed, error) {
	return record[model.Shadowed](ctx, s, shadowFolder(cluster, day, by)+decision+extension)
}

// PutShadowIndex stores which decisions of a day a version has made once more, in place of what is there.
func (s *Store) PutShadowIndex(ctx context.Context, index model.ShadowIndex) error {
	return s.putRecord(ctx, shadowFolder(index.Cluster, index.Day, index.By)+shadowIndex, index)
}

// ShadowIndex reads what PutShadowIndex stored. NotFound where nothing is.
func (s *Store) ShadowIndex(ctx context.Context, cluster, day, by string) (model.ShadowIndex, error) {
	return record[model.ShadowIndex](ctx, s, shadowFolder(cluster, day, by)+shadowIndex)
}

// ShadowClusters names the clusters of which decisions were made once more, sorted.
func (s *Store) ShadowClusters(ctx context.Context) ([]string, error) {
	return s.folders(ctx, "shadow/")
}

// Shadows names the versions that made decisions of a day once more, sorted.
func (s *Store) Shadows(ctx context.Context, cluster, day string) ([]string, error) {
	return s.folders(ctx, fmt.Sprintf("shadow/%s/%s/", cluster, day))
}

// shadowIndex is the name of a day's index, which no decision has.
const shadowIndex = "index" + extension

func shadowFolder(cluster, day, by string) string {
	return fmt.Sprintf("shadow/%s/%s/%s/", cluster, day, by)
}

// folders names what lies below a prefix and has something in it, sorted.
func (s *Store) folders(ctx context.Context, prefix string) ([]string, error) {
	input := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix, Delimiter: aws.String("/")}
	var out []string
	for pages := s3.NewListObjectsV2Paginator(s.client, input); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, sdkerr.WrapStatus(err, "list s3://%s/%s", s.bucket, prefix)
		}
		for _, shared := range page.CommonPrefixes {
			out = append(out, strings.TrimSuffix(strings.TrimPrefix(aws.ToString(shared.Prefix), prefix), "/"))
		}
	}
	return out, nil
}
