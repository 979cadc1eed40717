package naive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"golang.org/x/sync/errgroup"
)

// Options specify the service, its credentials and the destination.
type Options struct {
	URL         string
	Key, Secret string
	Dest        string
	Threads     int // schools read at once
}

// Export writes all test results of the service to files below Dest, one for each table.
func Export(ctx context.Context, o Options) (err error) {
	c := &client{Options: o, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: o.Threads}}}
	if err := c.login(ctx); err != nil {
		return fmt.Errorf("get a token: %w", err)
	}
	var schools []struct {
		Bid string `json:"schoolBid"`
	}
	if err := c.get(ctx, "/organizations/v1/schools", nil, &schools); err != nil {
		return fmt.Errorf("list schools: %w", err)
	}

	var out tables
	if err := out.create(o.Dest); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()

	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(o.Threads)
	for _, school := range schools {
		group.Go(func() error { return c.exportSchool(ctx, school.Bid, &out) })
	}
	return group.Wait()
}

func (c *client) exportSchool(ctx context.Context, school string, out *tables) error {
	query := url.Values{"school-bid": {school}}
	for {
		var page struct {
			TestResults []Result `json:"testResults"`
			Pagination  struct {
				HasNextPage bool   `json:"hasNextPage"`
				NextPage    string `json:"nextPage"`
			} `json:"pagination"`
		}
		if err := c.get(ctx, "/test-results/v1/growth", query, &page); err != nil {
			return fmt.Errorf("get test results: %w", err)
		}
		if err := out.write(school, page.TestResults); err != nil {
			return err
		}
		if !page.Pagination.HasNextPage {
			return nil
		}
		query.Set("next-page", page.Pagination.NextPage)
	}
}

// tables holds the files that are being written.
type tables struct {
	results table[Result]
	norms   table[Norm]
	areas   table[Area]
}

func (t *tables) create(dest string) error {
	return errors.Join(
		t.results.create(dest, "test_results"),
		t.norms.create(dest, "test_result_norms"),
		t.areas.create(dest, "test_result_instructional_areas"),
	)
}

func (t *tables) close() error {
	return errors.Join(t.results.close(), t.norms.close(), t.areas.close())
}

func (t *tables) write(school string, results []Result) error {
	var norms []Norm
	var areas []Area
	for i := range results {
		r := &results[i]
		if err := r.fillColumns(school); err != nil {
			return err
		}
		norms, areas = append(norms, r.Norms...), append(areas, r.Areas...)
	}
	return errors.Join(t.results.write(results), t.norms.write(norms), t.areas.write(areas))
}

// table writes the file of one table. Several goroutines may call write concurrently.
type table[Row any] struct {
	mu     sync.Mutex
	file   *os.File
	writer *parquet.GenericWriter[Row]
}

func (t *table[Row]) create(dest, name string) error {
	if err := os.MkdirAll(filepath.Join(dest, name), 0o750); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dest, name, "part.parquet"))
	if err != nil {
		return err
	}
	t.file = file
	t.writer = parquet.NewGenericWriter[Row](file,
		parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}), parquet.MaxRowsPerRowGroup(131_072))
	return nil
}

func (t *table[Row]) write(rows []Row) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, err := t.writer.Write(rows)
	return err
}

func (t *table[Row]) close() error {
	if t.file == nil {
		return nil
	}
	return errors.Join(t.writer.Close(), t.file.Close())
}

type client struct {
	Options

	http  *http.Client
	token string
}

func (c *client) login(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/auth/v1/token", http.NoBody)
	if err != nil {
		return err
	}
	r.SetBasicAuth(c.Key, c.Secret)
	r.Header.Set("Grant_type", "client_credentials")
	var answer struct {
		Token string `json:"access_token"`
	}
	err = c.send(r, &answer)
	c.token = answer.Token
	return err
}

func (c *client) get(ctx context.Context, path string, query url.Values, answer any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	return c.send(r, answer)
}

func (c *client) send(r *http.Request, answer any) error {
	r.Header.Set("Apikey", c.Key)
	resp, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", resp.Status)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, answer)
}
